---- MODULE Importing ----
EXTENDS Nowhere
====
