--------------------------- MODULE TraceRequestPath ---------------------------
(* Recordings of real processes as behaviours of what the models of clients    *)
(* share: one engine, whose requests are computed one by one.  A real client   *)
(* may leave whenever it likes; and the worker answers on a lane of its own.   *)
EXTENDS RequestPath, Recording

(* Requests are numbered by their calls; the scheduler numbers those that it has admitted. *)
NumbersRecorded == 1 .. MostOf("EngineAdmit")
(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
NumbersOfRecording == NumbersRecorded
NobodyOfRecording == {}

Admitted == {number \in Numbers : client[number] \notin {"calling", "refused"}}
Place(number) == Cardinality({other \in Admitted : other <= number})
NameOf(number) == RecordedListed[recording].EngineAdmit[number]

(* What scheduler and table hold, under the names that these have for it. *)
WaitingPlaces == {Place(number) : number \in waiting}
OpenNames == {NameOf(number) : number \in Open(Numbers)}
CachedIds == {ToString(one) : one \in cached}
AwaitedIds == {ToString(one) : one \in awaited}

HaveRoomRecorded(numbers) == Cardinality(numbers) < RecordedTold[recording].MaxWaiting
LooksRecorded == dispatcher # "took"
IsBehindRecorded(computed, outputs) == TRUE
MayEndRecorded(number) == TRUE

AdmitRecorded == \E number \in Numbers : EngineAdmit(number)
WaitRecorded(id) ==
    \E number \in Numbers : output[number] # None /\ ToString(output[number]) = id /\ ConsumerWait(number)
(* Whoever takes what another one has closed meanwhile changes nothing. *)
DeliverRecorded(place) ==
    \E number \in Admitted :
        /\ Place(number) = place
        /\ StreamDeliver(number) \/ (client[number] # "having" /\ outcome[number] # "open" /\ UNCHANGED vars)
EndRecorded(place) == \E number \in Admitted : Place(number) = place /\ StreamEnd(number)

(* One call aborts several names at once: those that are not open any more behind it. *)
AbortRecorded(step) ==
    LET changes == FieldOf(step, "changes", <<>>)
        gone == IF "OpenNames" \in DOMAIN changes THEN changes.OpenNames.gone ELSE {}
    IN  Abort({number \in Admitted : NameOf(number) \in gone}) /\ UNCHANGED aborted

(* Who does not wait may let go of its stream at any moment, and the statistics are looked at again and again. *)
DesertRecorded(place) ==
    \E number \in Admitted :
        /\ Place(number) = place
        /\ client[number] \in {"asking", "failing"}
        /\ client' = [client EXCEPT ![number] = "gone"]
        /\ deserted' = deserted \cup {number}
        /\ UNCHANGED <<waiting, outcome, output, others, dispatcher, owner, arriving, table>>
StatisticsRecorded ==
    /\ deserted' = {}
    /\ outcome' = Ended(deserted)
    /\ waiting' = waiting \ deserted
    /\ Drop(GivenUp(deserted))
    /\ UNCHANGED <<output, client, others, dispatcher, owner, arriving>>

(* There is nothing that a step shows beside table and scheduler. *)
Fits(step) == TRUE
===============================================================================
