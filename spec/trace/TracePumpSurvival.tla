--------------------------- MODULE TracePumpSurvival ---------------------------
(* Recordings of real processes as behaviours of PumpSurvival: the pump ends   *)
(* once the worker has nothing more to say, be it dead, or told to stop.       *)
EXTENDS MCPumpSurvival, Recording

OrderRecorded == InARow(Outputs)
(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
OrderOfRecording == OrderRecorded

(* The worker announces in whatever order it has computed. *)
AnnounceRecorded(output) ==
    LET Other(each) == each # output
    IN  /\ unsent # SelectSeq(unsent, Other)
        /\ unsent' = SelectSeq(unsent, Other)
        /\ inbox' = Append(inbox, output)
        /\ UNCHANGED <<broken, pump, table, consumers, end, unread>>

(* Whoever goes away may do so when nothing of its output is open any more: that is no step of the model. *)
DropRecorded(output) == ConsumerDrop(output) \/ (output \notin open /\ UNCHANGED vars)

(* There is nothing that a step shows beside the table. *)
Fits(step) == TRUE
===============================================================================
