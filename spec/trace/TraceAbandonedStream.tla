------------------------- MODULE TraceAbandonedStream -------------------------
(* Recordings of real processes as behaviours of AbandonedStream: what whoever *)
(* has left was to get, is dropped.  Other clients wait for theirs meanwhile.  *)
EXTENDS MCAbandonedStream, TraceRequestPath
===============================================================================
