"""llama.cpp itself, built for a processor, to hold launch lines against: its parser, its loader, and no GPU.

    python -m tests.tools.llama_cpp build/llama-cpp

fetches the source distribution of its Python bindings by pip and compiles what ``placement.cpp`` needs, which takes
many minutes and some 700 MB. Tests use ``build/llama-cpp/placement``, or what ``MTPP_LLAMA_CPP`` names; they are
skipped where there is none. With ``--bench`` it compiles the programs that ``benchmarks/predictions`` measures with.
"""
