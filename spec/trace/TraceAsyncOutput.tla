--------------------------- MODULE TraceAsyncOutput ---------------------------
(* Recordings of real processes as behaviours of AsyncOutput: one engine, one  *)
(* worker, and whatever they really did, up to a step that the model lacks.    *)
EXTENDS MCAsyncOutput, Recording

MintedIds == [number \in 1 .. MostOf("DispatcherMint") |-> ToString(number)]
RecordedNumbers == 1 .. MostOf("EngineAdmit")
RecordedSubmitted == RecordedListed[1].EngineAdmit
RecordedBatches == {MintedIds[number] : number \in DOMAIN MintedIds}
RecordedParts == [id \in RecordedBatches |-> [place \in 1..MaxBatch |-> id \o "/" \o ToString(place)]]
RecordedOutputs == RecordedBatches \cup {RecordedParts[id][place] : id \in RecordedBatches, place \in 1..MaxBatch}
RecordedRpcs == 1 .. MostOf("DispatcherCall")

(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
NumbersOfRecording == RecordedNumbers
SubmittedOfRecording == RecordedSubmitted
BatchesOfRecording == RecordedBatches
MintedOfRecording == MintedIds
PartsOfRecording == RecordedParts
OutputsOfRecording == RecordedOutputs
RpcsOfRecording == RecordedRpcs

(* The names under which requests are open. *)
OpenRequests == {Submitted[number] : number \in {n \in Numbers : outcome[n] = "open"}}

(* One call aborts several names at once: those that are not open any more behind it. *)
AbortRecorded(step) ==
    LET gone == IF "OpenRequests" \in DOMAIN FieldOf(step, "changes", <<>>) THEN step.changes.OpenRequests.gone ELSE {}
        numbers == {number \in Numbers : Submitted[number] \in gone}
    IN  /\ stream' = Left(numbers)
        /\ End(numbers, "aborted", {})
        /\ UNCHANGED <<submitted, closed, aborting, callers, ids, asked, refusing, worker, links, pump, shutdown, ghosts>>

(* There is nothing that a step shows beside table and scheduler. *)
Fits(step) == TRUE
===============================================================================
