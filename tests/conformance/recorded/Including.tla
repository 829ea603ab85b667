---- MODULE Including ----
EXTENDS Garbled
====
