---------------------------- MODULE TraceRingBuffer ----------------------------
(* Recordings of real threads as behaviours of RingBuffer.                      *)
EXTENDS RingBuffer, Recording

SizeOfRing == 2

(* There is nothing that a step shows beside its name and its item. *)
Fits(step) == TRUE
===============================================================================
