------------------------- MODULE TraceDrainBeforeSleep -------------------------
(* Recordings of real processes as behaviours of DrainBeforeSleep: one worker. *)
(* What its main loop was told follows from what it did: whoever finds nothing *)
(* in flight falls asleep, or wakes up.                                        *)
EXTENDS MCDrainBeforeSleep, Recording

RECURSIVE ToldFrom(_, _, _, _)
ToldFrom(steps, nth, flying, sleeps) ==
    IF nth > Len(steps) THEN <<>>
    ELSE LET step == steps[nth]
         IN  CASE step.action = "WorkerHandOver" -> <<step.output>> \o ToldFrom(steps, nth + 1, flying + 1, sleeps)
               [] step.action = "WorkerSettle" -> ToldFrom(steps, nth + 1, flying - 1, sleeps)
               [] step.action = "WorkerDrain" ->
                    <<IF sleeps THEN "wake" ELSE "sleep">>
                    \o ToldFrom(steps, nth + 1, flying, sleeps = (flying # 0))
               [] OTHER -> ToldFrom(steps, nth + 1, flying, sleeps)
ToldInAll == [number \in DOMAIN RecordedSteps |-> ToldFrom(AllRecorded[number], 1, 0, FALSE)]
OutputsRecorded ==
    UNION {{ToldInAll[number][i] : i \in DOMAIN ToldInAll[number]} : number \in DOMAIN ToldInAll} \ {"sleep", "wake"}
RECURSIVE InARow(_)
InARow(set) == IF set = {} THEN <<>> ELSE LET one == CHOOSE x \in set : TRUE IN <<one>> \o InARow(set \ {one})
InOneProgram == InARow(OutputsRecorded)
(* TLC evaluates a definition once, and what a cfg puts in the place of a constant at each use. *)
ProgramOfAll == InOneProgram
OutputsOfAll == OutputsRecorded

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
