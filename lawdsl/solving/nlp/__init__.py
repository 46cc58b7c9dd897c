"""Problem in several unknowns -> its optimum, with certificates.

`minimise(NlpProblem(...), NlpOptions(...))` in `multistart` is the entry point and does not depend
on questions or fits. `solver` translates a question into a problem, and its solution into an
answer.
"""
