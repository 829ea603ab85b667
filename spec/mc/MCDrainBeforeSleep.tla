-------------------------- MODULE MCDrainBeforeSleep --------------------------
(* Bounds, refinement, the historical behaviour that a Bug cfg swaps in,       *)
(* mutants, and probes.                                                        *)
EXTENDS DrainBeforeSleep, FiniteSets

(* An output may be in flight at either sleep, the second one in memory that was taken again. *)
TwoSleeps == <<"1", "sleep", "wake", "2", "sleep">>

(* A consumer waits for each output from its computation on, and is served with a whole one. *)
Served(output) ==
    CASE announced[output] = "whole" -> "served"
      [] \E i \in 1 .. next - 1 : Program[i] = output -> "waiting"
      [] OTHER -> "absent"
Abs == INSTANCE Delivery WITH waiter <- [output \in Outputs |-> Served(output)]
RefinesProp == Abs!FairSpec

(* Defect sleep_without_drain: whatever is in flight, memory is given back. *)
NothingReads_Bug(outputs) == TRUE

(* Mutant one_overlooked: the drain is content with a last one. *)
NothingReads_ButOne(outputs) == Cardinality(outputs) <= 1

(* Mutant settled_at_copy: an output is counted off when it is copied, and again when it is announced. *)
AfterCopy_Settled(outputs, output) == outputs \ {output}

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No sleep is refused. *)
NeverRefusedInv == ~(next > 2 /\ "1" \in in_flight)
(* No output is computed in memory that was taken again. *)
NeverAgainInv == ~(given_back = 1 /\ announced["2"] = "whole")
===============================================================================
