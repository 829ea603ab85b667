------------------------------- MODULE Recording -------------------------------
(* Recordings of real processes, and the orders of their steps that their      *)
(* windows and causes allow.  A model that is extended together with this one  *)
(* takes the steps; what it cannot take in any order was no behaviour of it.    *)
(*                                                                             *)
(* Several recordings may be looked at in one search: each has an initial      *)
(* state.  Its steps lie in chains; the order within a chain is known.         *)
EXTENDS Naturals, Sequences, FiniteSets, Recorded

VARIABLES
    recording,      \* the number of the recording that is looked at
    progress,       \* chain -> how many of its steps have been taken
    probed          \* the interesting states that it came through, by the names of the probes that deny them

RecordedChains == RecordedSteps[recording]

RecordingBegins ==
    /\ recording \in DOMAIN RecordedSteps
    /\ progress = [chain \in DOMAIN RecordedChains |-> 0]
    /\ probed = {}

-------------------------------------------------------------------------------

HasMore(chain) == progress[chain] < Len(RecordedChains[chain])
NextRecorded(chain) == RecordedChains[chain][progress[chain] + 1]

(* A step has no field for what there is nothing to tell of. *)
FieldOf(step, field, nothing) == IF field \in DOMAIN step THEN step[field] ELSE nothing

(* The members of a set as a sequence, in some order. *)
RECURSIVE InARow(_)
InARow(set) == IF set = {} THEN <<>> ELSE LET one == CHOOSE x \in set : TRUE IN <<one>> \o InARow(set \ {one})

(* Of a recording all steps, or those of an action, in the order of their beginnings. *)
AllRecorded(number) ==
    [nth \in DOMAIN RecordedOrder[number] |->
        RecordedSteps[number][RecordedOrder[number][nth][1]][RecordedOrder[number][nth][2]]]
RecordedOf(number, action) ==
    [nth \in DOMAIN FieldOf(RecordedPlaces[number], action, <<>>) |->
        RecordedSteps[number][RecordedPlaces[number][action][nth][1]][RecordedPlaces[number][action][nth][2]]]

(* How many steps of an action a recording has at most. *)
MostOf(action) == FieldOf(RecordedMost, action, 0)

(* No step that was not taken was over before this one began. *)
WindowAllows(chain) ==
    \A other \in DOMAIN progress : HasMore(other) => NextRecorded(chain).begin <= NextRecorded(other).end

(* Each step that is its cause was taken. *)
CauseTaken(cause) == progress[cause[1]] >= cause[2]
CausesAllow(chain) == \A cause \in FieldOf(NextRecorded(chain), "after", {}) : CauseTaken(cause)

MayBeNext(chain) == HasMore(chain) /\ WindowAllows(chain) /\ CausesAllow(chain)

AdvanceChain(chain) ==
    /\ progress' = [progress EXCEPT ![chain] = @ + 1]
    /\ UNCHANGED recording

(* A variable has changed as the field of the object did that it stands for, if that was looked at: *)
(* what has gone was there, and what has come was not.                                              *)
Agrees(step, object, name, before, after) ==
    object \in FieldOf(step, "looked", {}) =>
        LET changes == FieldOf(step, "changes", <<>>)
        IN  IF name \notin DOMAIN changes
            THEN after = before
            ELSE IF "value" \in DOMAIN changes[name]
                 THEN after = changes[name].value
                 ELSE /\ changes[name].gone \subseteq before
                      /\ changes[name].came \cap before = {}
                      /\ after = (before \ changes[name].gone) \cup changes[name].came

-------------------------------------------------------------------------------

(* Everything that has happened for certain was taken. *)
RecordingAccepted == \A chain \in DOMAIN progress : progress[chain] >= RecordedRequired[recording][chain]

RECURSIVE SumOf(_)
SumOf(counts) == IF counts = <<>> THEN 0 ELSE Head(counts) + SumOf(Tail(counts))

(* What the search remembers beside its states: of each recording how many steps *)
(* were taken at most, and whether it is accepted; and how many recordings are.  *)
Most(number) == number
IsAccepted(number) == Len(RecordedSteps) + number
AllAccepted == 2 * Len(RecordedSteps) + 1
ASSUME
    /\ \A number \in DOMAIN RecordedSteps : TLCSet(Most(number), 0) /\ TLCSet(IsAccepted(number), FALSE)
    /\ TLCSet(AllAccepted, 0)

(* Says aloud which recording is accepted, and ends the search when all are. *)
AcceptanceTold ==
    RecordingAccepted /\ ~TLCGet(IsAccepted(recording)) =>
        /\ PrintT(<<"accepted", recording, probed>>)
        /\ TLCSet(IsAccepted(recording), TRUE)
        /\ TLCSet(AllAccepted, TLCGet(AllAccepted) + 1)
        /\ TLCGet(AllAccepted) = Len(RecordedSteps) => TLCSet("exit", TRUE)

(* Says aloud how far each recording came, whenever one came farther than before. *)
ProgressTold ==
    SumOf(progress) > TLCGet(Most(recording)) =>
        /\ TLCSet(Most(recording), SumOf(progress))
        /\ PrintT(<<"reached", recording, progress>>)
===============================================================================
