---------------------------- MODULE MCPumpSurvival ----------------------------
(* Bounds, refinement, the historical behaviour that a Bug cfg swaps in,       *)
(* mutants, and probes.                                                        *)
EXTENDS PumpSurvival

OneThenTwo == <<"1", "2">>

(* Whatever becomes of it, a wait ends once. *)
Waits(output) ==
    CASE waiter[output] \in {"absent", "waiting"} -> waiter[output]
      [] OTHER -> "served"
Abs == INSTANCE Delivery WITH waiter <- [output \in Outputs |-> Waits(output)]
RefinesProp == Abs!FairSpec

(* Everything that must happen in the end. *)
LiveProp == EveryWaitEndsProp /\ EveryoneElseServedProp

(* Defect cancelled_future: the pump takes the future, and looks whether its consumer has gone ... *)
PumpUnpack_Bug(output) ==
    /\ pump = Idle
    /\ inbox # <<>>
    /\ Head(inbox) = output
    /\ inbox' = Tail(inbox)
    /\ pump' = [at |-> IF waiter[output] = "waiting" THEN "holding" ELSE "unpacked", output |-> output]
    /\ registered' = registered \ {output}
    /\ open' = open \ (registered \cap {output})
    /\ unread' = unread + (IF output \in Unreadable THEN 1 ELSE 0)
    /\ UNCHANGED <<unsent, broken, cached, consumers, end>>

(* ... and then resolves it: who has gone in between ends the pump. *)
PumpDeliver_Bug(output) ==
    /\ pump.output = output
    /\ IF pump.at = "holding"
       THEN /\ pump' = IF waiter[output] = "waiting" THEN Idle ELSE Dying
            /\ waiter' = [waiter EXCEPT ![output] = IF @ = "waiting" THEN Answer(output) ELSE @]
            /\ UNCHANGED table
       ELSE pump' = Idle /\ ResolveOrCache(output)
    /\ UNCHANGED <<lane, stayed, end, unread>>

(* Mutant silent_death: nobody who waits is told. *)
ToldAtEnd_Nobody == {}

(* Mutant healthy_corpse: health does not look at the pump. *)
HealthAtEnd_Good == TRUE

(* Mutant one_fails_all: what cannot be read fails whoever waits. *)
PumpDeliver_ForAll(output) ==
    /\ pump = [at |-> "unpacked", output |-> output]
    /\ pump' = Idle
    /\ waiter' = [each \in Outputs |-> IF waiter[each] = "waiting" THEN Answer(output) ELSE waiter[each]]
    /\ open' = open \ registered
    /\ registered' = {}
    /\ UNCHANGED <<lane, cached, stayed, end, unread>>

(* Mutant cached_regardless: what nobody may want any more is cached, too. *)
Kept_Always(output) == {output}

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No consumer cancels between the reading of its output and its delivery. *)
NeverLeftInHandsInv == ~(pump.at = "unpacked" /\ waiter[pump.output] = "leaving")
(* No consumer is served with what was cached when the pump had ended. *)
NeverServedAfterwardsInv == ~(pump = Dead /\ cached # {})
===============================================================================
