------------------------- MODULE TraceDrainBeforeSleep -------------------------
(* Recordings of real processes as behaviours of DrainBeforeSleep: one worker. *)
(* What its main loop was told follows from what it did: whoever finds nothing *)
(* in flight falls asleep, or wakes up.                                        *)
EXTENDS MCDrainBeforeSleep, Recording

(* How often an action had come, before a step began. *)
Before(number, action, step) ==
    Cardinality({nth \in DOMAIN RecordedOf(number, action) : RecordedOf(number, action)[nth].end < step.begin})
FoundNothing(number, drain) == Before(number, "WorkerHandOver", drain) = Before(number, "WorkerSettle", drain)
Sleeps(number, drain) ==
    LET drains == RecordedOf(number, "WorkerDrain")
        earlier == {nth \in DOMAIN drains : drains[nth].end < drain.begin /\ FoundNothing(number, drains[nth])}
    IN  Cardinality(earlier) % 2 = 1
ToldBy(number, step) ==
    IF step.action = "WorkerHandOver" THEN step.output ELSE IF Sleeps(number, step) THEN "wake" ELSE "sleep"
ToldIn(number) ==
    LET IsOfMain(step) == step.action \in {"WorkerHandOver", "WorkerDrain"}
        steps == SelectSeq(AllRecorded(number), IsOfMain)
    IN  [nth \in DOMAIN steps |-> ToldBy(number, steps[nth])]
(* TLC would evaluate it at each use: it is remembered instead, beside what Recording remembers. *)
Programs == AllAccepted + 1
ASSUME TLCSet(Programs, TLCEval([number \in DOMAIN RecordedSteps |-> TLCEval(ToldIn(number))]))
ToldInAll == TLCGet(Programs)

InOneProgram == InARow(Outputs)
(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
ProgramOfAll == InOneProgram

(* Each recording has a program of its own, of which each command is a step. *)
ToldInRecording(command) == next <= Len(ToldInAll[recording]) /\ ToldInAll[recording][next] = command
SkippingNone(i, sleeps) == i

(* The probes speak of the bounds of the model; in any bounds they say: *)
(* No sleep is refused. *)
NeverRefusedRecorded == ~(next > 1 /\ ToldInAll[recording][next - 1] = "sleep" /\ ~asleep)
(* No output is computed in memory that was taken again. *)
NeverAgainRecorded == ~(given_back > 0 /\ ~asleep /\ in_flight # {})

(* Those that the worker counts are a number in a recording. *)
InFlight == Cardinality(in_flight)

(* There is nothing that a step shows beside that number. *)
Fits(step) == TRUE
===============================================================================
