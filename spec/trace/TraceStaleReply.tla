---------------------------- MODULE TraceStaleReply ----------------------------
(* Recordings of real processes as behaviours of StaleReply: what the          *)
(* dispatcher calls, one after another, until somebody else does.              *)
EXTENDS MCStaleReply, Recording

CallsRecorded == 1 .. MostOf("DispatcherCall")
(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
CallsOfRecording == CallsRecorded

(* There is nothing that a step shows beside the table. *)
Fits(step) == TRUE
===============================================================================
