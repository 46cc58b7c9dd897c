"""Problem + starts -> local minima: two batched stages, multistart, and a trust region."""
