--------------------------- MODULE TraceFutureOrphan ---------------------------
(* Recordings of real processes as behaviours of FutureOrphan.                 *)
EXTENDS MCFutureOrphan, Recording

(* There is nothing that a step shows beside the table. *)
Fits(step) == TRUE
===============================================================================
