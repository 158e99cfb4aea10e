"""First model in ten lines: names in, names out."""

import absentia

log = {"user": ["ann", "ann", "bob", "bob", "cy", "dee", "dee"], "item": ["alien", "jaws", "alien", "jaws", "alien", "up", "coco"]}

model = absentia.Factorizer(factors=2, weights=absentia.weights.Uniform(0.05), iterations=30)
model.fit((log["user"], log["item"]))
items, scores = model.recommend("cy", n=2)
for item, score in zip(items, scores):
    print(f"{item}: {score:.2f}")
print(model.explain("cy", items[0]))
