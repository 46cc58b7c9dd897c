"""Problem + starts -> local minima: two batched stages, multistart over them, and a trust
region."""
