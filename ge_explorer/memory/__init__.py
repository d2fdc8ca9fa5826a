"""Memory planning: problem, plan, bound and verifier are four different things in different files.

``problem`` (buffers and who may follow whom) <- ``aliases``, ``sizes``, ``lifetimes``; ``planner`` places buffers;
``bounds`` and ``antichain`` say what no plan can beat; ``verify`` checks any plan against happens-before only.
"""
