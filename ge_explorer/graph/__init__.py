"""The structure: tensors, nodes, scopes, GE's topological orders, reachability, happens-before, builder, exports."""
