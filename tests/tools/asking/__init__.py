"""What ``mtpp explain`` says of random specs, held against the fuzzer's own evaluator and brute force.

``python -m tests.tools.asking FAMILY --count 300 --seed 0``. A spec is made, read, solved and asked about; each
claim of its explanation is one about an altered spec, whose least cost is found by trying all plans.
"""
