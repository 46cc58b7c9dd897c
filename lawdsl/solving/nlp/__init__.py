"""Problem in several unknowns -> its optimum, with certificates.

`minimise(NlpProblem(...), NlpOptions(...))` of `multistart` is the entry and does not depend on
questions or fits. `solver` translates a question into a problem, and its solution into an answer.
"""
