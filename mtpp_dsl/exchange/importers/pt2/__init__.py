"""Archives of torch.export (``.pt2``): operators with shapes and costs, read without torch.

It imports data, the model and what importers share.
"""
