----------------------------- MODULE MCDeviceCopy -----------------------------
(* Bounds, refinement, the historical behaviour that a Bug cfg swaps in,       *)
(* mutants, and probes.                                                        *)
EXTENDS DeviceCopy

(* The second one is computed while the first one is brought. *)
TwoOutputs == <<"1", "2">>

(* A consumer waits for each output from its handing over on, and is served with a whole one. *)
Served(output) ==
    CASE announced[output] = "whole" -> "served"
      [] \E i \in 1 .. next - 1 : Order[i] = output -> "waiting"
      [] OTHER -> "absent"
Abs == INSTANCE Delivery WITH waiter <- [output \in Outputs |-> Served(output)]
RefinesProp == Abs!FairSpec

(* Defect unsynchronised_copy: the event that the copy waits for marks what was issued before the computation. *)
Work_Bug(output) == <<Command("reach", output), Command("compute", output), Command("reach", output)>>

(* Mutant unawaited_copy: the host reads as soon as the copy is issued. *)
CopiesAreDone_Unawaited == TRUE

(* Mutant let_go_at_copy: memory is given back as soon as the copy out of it is issued. *)
LetsGoAt_Copy == "copy"

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* The main loop is never two outputs ahead of the device. *)
NeverAheadInv == ~(next > Len(Order) /\ device = [output \in Outputs |-> "poison"] /\ reached = {})
(* No output is computed in the time in which another one is brought. *)
NeverBothInv == ~(hand = "1" /\ host["1"] = "poison" /\ device["2"] = "whole")
===============================================================================
