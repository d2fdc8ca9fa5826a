"""Automatic multi-stream (DAG mode): pure functions from a list of nodes and edges to a stream per node.

``mode`` reads the option, ``profiling`` a profiling file, ``adapter`` turns a scope into a ``Dag`` and streams back into it,
``residual`` drops labelled and free nodes, ``path_cover`` splits the rest into ``units``. ``merger`` is the loop that puts units
on streams, with ``load_balance``, ``main_stream`` (both on ``node_counts``) and ``weighted`` (on ``unit_times`` and
``simulation``) as its strategies. ``allocator`` runs them all; ``explain``, ``writer`` and ``findings`` say why.
Source: compiler/graph/build/dag/ and compiler/graph/build/stream/dag_*.cc.
"""
