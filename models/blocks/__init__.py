"""Parts of Pyomo models, one idea each."""
