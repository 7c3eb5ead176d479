"""Text that specs include, as ``include "devices/nvidia.mtpp"``: laws of costs, types of devices, rates of links.

The files in ``devices/`` and ``links/`` are written by ``python -m tests.tools.library``. It imports files alone.
"""
