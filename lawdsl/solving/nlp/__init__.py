"""Problem in several unknowns -> its optimum, and what certifies it.

`minimise(NlpProblem(...), NlpOptions(...))` of `multistart` is the entry, and loads nothing that
knows of questions or fits. `solver` leads from a question to a problem, and from its solution back.
"""
