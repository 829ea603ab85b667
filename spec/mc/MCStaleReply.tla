----------------------------- MODULE MCStaleReply -----------------------------
(* Refinement, the historical behaviour that a Bug cfg swaps in, mutants, and  *)
(* probes.                                                                     *)
EXTENDS StaleReply, Integers

(* What the dispatcher was told: a call that was given up has no answer, whatever came meanwhile. *)
Told(rpc) ==
    CASE outcome[rpc] = "open" -> -2
      [] outcome[rpc] = "timed out" -> -1
      [] outcome[rpc] = "answered" -> CHOOSE value \in got[rpc] : TRUE
Abs == INSTANCE Answering WITH ending <- [rpc \in Calls |-> Told(rpc)]
RefinesProp == Abs!FairSpec

(* Everything that must happen in the end. *)
LiveProp == EveryCallEndsProp /\ EveryDebtForgottenProp

(* Defect stale_reply: an answer is taken for that to the call which waits, whatever its number ... *)
Taker_Bug(answer) ==
    IF answer.epoch = Present THEN {one \in awaited : \A other \in awaited : one <= other} ELSE {}

(* ... and of a late one nobody takes note; in mutant never_forgiven, that is all. *)
WithoutDebt_Bug(debt) == debt

(* Mutant any_epoch: an answer is known by its number alone. *)
Taker_AnyEpoch(answer) == {answer.rpc} \cap awaited

(* Mutant silent_discard: an answer for nobody is not counted. *)
WithOneMore_Silent(count) == count

(* Mutant leaked_call: a call that was given up stays in the table. *)
WithoutCall_Leaking(calls, rpc) == calls

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No answer comes between the look that finds none and the moment at which its call is given up. *)
NeverAtTheLastMomentInv == dispatcher.at = "abandon" => got[dispatcher.rpc] = {}
(* No answer of a call that was given up comes while the next one is awaited. *)
NeverLateInv ==
    ~(results # <<>> /\ Head(results).epoch = Present /\ Head(results).rpc < dispatcher.rpc /\ awaited # {})
===============================================================================
