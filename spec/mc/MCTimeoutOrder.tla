---------------------------- MODULE MCTimeoutOrder ----------------------------
(* Bounds, refinement, the historical behaviour that a Bug cfg swaps in,       *)
(* mutants, and probes.                                                        *)
EXTENDS TimeoutOrder, TLC

FirstAndSecond == <<"1", "2">>
(* The first is healthy by any setting; the second comes just when a consumer gives up who waits as long as configured. *)
Renders == "1" :> 45 @@ "2" :> 15

(* A wait ends once; but who gives up before it should was let down, and counts as waiting for ever. *)
Waits(output) ==
    CASE waiter[output] \in {"absent", "waiting"} -> waiter[output]
      [] waiter[output] = "late" -> "waiting"
      [] waiter[output] = "served" -> "served"
      [] waiter[output] = "gave up" -> IF until[output] < allowed[output] THEN "waiting" ELSE "served"
Abs == INSTANCE Delivery WITH waiter <- [output \in Outputs |-> Waits(output)]
RefinesProp == Abs!FairSpec

(* Everything that must happen in the end. *)
LiveProp == EverybodyEndsProp /\ HealthyRenderServedProp

(* Defect short_output_timeout: whatever is set, an output is awaited for as long as somebody once found plenty. *)
Taken_Bug(seconds) == 30

(* Mutant any_setting: a setting that is not above the drain's is in force, too. *)
Taken_Any(seconds) == IF seconds > 0 THEN seconds ELSE Limit

(* Mutant patient_drain: a drain waits for as long as it takes. *)
Patience_Long == 500

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No output comes when its consumer's time is up. *)
NeverLateInv == \A output \in Outputs : waiter[output] # "late"
(* No drain is refused while all consumers still wait. *)
NeverRefusedInv == ~(main = "drain" /\ began > 0 /\ \A output \in Outputs : waiter[output] = "waiting")
===============================================================================
