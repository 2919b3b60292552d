"""The domain-free kernel: world, randomness, tools, gateway, faults, people, views, cards, episodes, judging.

Nothing here imports gymnasium or a domain; `import-linter` holds that.
"""
