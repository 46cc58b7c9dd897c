"""Problem in several unknowns -> its optimum, and what certifies it.

`minimise(NlpProblem(...), NlpOptions(...))` of `multistart` is the entry. It knows neither laws nor
questions: `solver` alone leads from a question to a problem and back.
"""
