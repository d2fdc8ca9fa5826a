"""Small planners and models as the well-known article on memory reuse describes them, one idea a file.

They teach; GE works differently (``memory/ge``). What the article gets wrong is put right here, and the tests show both. Planners
that look at lifetimes only (``arena``, ``interval``) are safe on one stream; on several the verifier shows their races.
``catalogue`` says where each idea comes from and which planner is blind to streams.
"""
