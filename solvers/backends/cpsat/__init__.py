"""CP-SAT: requests in whole numbers, models of them, and the processes in which they are solved.

It imports algorithms, the runtime and views; OR-tools itself is imported in the processes alone.
"""
