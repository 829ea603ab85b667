-------------------------------- MODULE Sample --------------------------------
(* A counter that wraps; every way in which TLC can end, one cfg each.         *)
EXTENDS Integers, Sequences, TLC
CONSTANTS Node, Limit
VARIABLES count, memory

vars == <<count, memory>>

Wide(n) ==
    [who |-> Node, path |-> <<"worker.main", "worker.output", "pump", "dispatcher">>,
     cells |-> (0 :> n @@ 1 :> -1), empty |-> {}, none |-> <<>>,
     flags |-> {<<TRUE, "a quite long name">>, <<FALSE, "another quite long name">>}]

Init == count = 0 /\ memory = Wide(0)

Up == count < Limit /\ count' = count + 1 /\ memory' = Wide(count')
Wrap == count = Limit /\ count' = 0 /\ UNCHANGED memory
Never == count > Limit /\ UNCHANGED vars
Behead == count = 1 /\ count' = Head(<<>>) /\ UNCHANGED memory

Next == Up \/ Wrap \/ Never
UpOnly == Up \/ Never
Failing == Up \/ Behead

Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Next)
StuckSpec == Init /\ [][UpOnly]_vars /\ WF_vars(UpOnly)
FailingSpec == Init /\ [][Failing]_vars

SmallInv == count < 2
PositiveInv == count > 0
TypeOK == count \in 0..Limit
RisesProp == [][count' > count]_count
SettlesProp == <>[](count = Limit)
ReturnsProp == []<>(count = 0)
===============================================================================
