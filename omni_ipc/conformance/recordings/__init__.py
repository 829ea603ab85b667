"""What real processes did, held against a model.

logs.py  sessions.py   what each process wrote, read; what those did together that share memory
looking.py  lens.py    what a model speaks of in it
chains.py  cases.py    the order of steps, as far as it is known; what one search of TLC looks at
trace_module.py        a module whose behaviours are the orders that fit; validate.py: TLC, asked for one
rejection.py           why there is none, by what TLC evaluates in explanation_module.py's
"""
