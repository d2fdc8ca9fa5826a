"""Automatic multi-stream (DAG mode): pure functions from a list of nodes and edges to a stream per node.

``mode`` reads the option, ``adapter`` turns a scope into a ``Dag``, ``residual`` drops labelled and free nodes, ``path_cover``
splits the rest into units, ``load_balance`` / ``main_stream`` / ``weighted`` put units on streams, ``allocator`` runs them all.
Source: compiler/graph/build/dag/ and compiler/graph/build/stream/dag_*.cc.
"""
