"""What is claimed of each model, and the texts that say so.

manifest.py       the models by name, and what TLC must find of each
numbers.py        the manifest's numbers, in its own text
listing.py        the table of models in the README of the specs
configuration.py  cfg files
values.py         TLA+ values, as TLC prints them and cfg files write them
source.py         the text of a module, by places in it
parts.py          a text, cut at the beginnings of its parts
"""
