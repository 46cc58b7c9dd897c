; A statement that goes over several lines.
[
  (section)
  (index)
  (variable)
  (setting)
  (parameter)
  (let)
  (output)
  (hold)
  (measure)
  (identify)
  (require)
  (minimize)
  (maximize)
  (start_grid)
  (start_point)
  (prior)
  (given)
  (step)
  (keep)
  (uses)
  (choose)
  (subject)
] @fold

; Comments that stand together.
(comment)+ @fold
