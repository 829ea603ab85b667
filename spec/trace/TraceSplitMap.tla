----------------------------- MODULE TraceSplitMap -----------------------------
(* Recordings of real processes as behaviours of SplitMap.                     *)
EXTENDS MCSplitMap, Recording

(* A batch holds the outputs of its family: those whose ids begin with its own. *)
PartsRecorded == [batch \in Batches |-> Outputs \cap (CHOOSE family \in RecordedFamilies : family[1] = batch)[2]]
(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
PartsOfRecording == PartsRecorded

(* There is nothing that a step shows beside the table. *)
Fits(step) == TRUE
===============================================================================
