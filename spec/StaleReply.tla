------------------------------ MODULE StaleReply ------------------------------
(* One call after another, and answers that may come after their call was      *)
(* given up, or from the worker of an engine that is no more.  Whose answer    *)
(* one is, its number and its epoch tell.                                      *)
(*                                                                             *)
(*   dispatcher --call, send--> requests --> worker --reply--> results --> pump *)
(*       wake <---------------------- the answer, or nothing, in its wave <--+  *)
(*                                                                             *)
(* How long a call may take is nothing that the code decides by: the           *)
(* dispatcher wakes when it will, and then looks whether the answer came.      *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Calls,          \* numbers of the calls, from 1 on; made one after another
    Old             \* numbers that an earlier engine's worker answers, as the first thing on the lane

ASSUME CallsAreNumbered == Calls = 1 .. Cardinality(Calls) /\ Old \subseteq Calls

VARIABLES
    dispatcher,     \* what the dispatcher does next, and for which call
    awaited,        \* calls that the table knows, and whose answers it takes
    got,            \* call -> the values that its wave has taken; call n is answered n, an earlier one 0
    outcome,        \* call -> how it ended, for the dispatcher
    requests,       \* calls that were sent and not yet answered, in order
    results,        \* answers that were sent and not yet taken by the table, in order
    overdue,        \* the call that the worker owes an answer to, if it has said nothing since
    discarded       \* how many answers came for nobody

lanes == <<requests, results>>
table == <<awaited, got, overdue, discarded>>
vars == <<dispatcher, outcome, lanes, table>>

Present == 1        \* the epoch of this engine
Past == 0           \* and of the one before it
Done == [at |-> "done", rpc |-> 0]

TypeOK ==
    (* "wait": until it is decided, or the time is up; "abandon": it was not decided. *)
    /\ dispatcher \in [at : {"call", "send", "wait", "abandon"}, rpc : Calls] \cup {Done}
    (* A call goes when it is answered or given up. *)
    /\ awaited \subseteq Calls
    (* One rank answers, once. *)
    /\ got \in [Calls -> SUBSET (Calls \cup {0})]
    (* "open": not made yet, or under way. *)
    /\ outcome \in [Calls -> {"open", "answered", "timed out"}]
    (* The lane to the worker. *)
    /\ requests \in Seq(Calls)
    (* The lane from the worker. *)
    /\ results \in Seq([epoch : {Past, Present}, rpc : Calls])
    (* At most one: the last that was given up. *)
    /\ overdue \subseteq Calls
    (* It only grows. *)
    /\ discarded \in 0 .. Cardinality(Calls) + Cardinality(Old)

Init ==
    /\ dispatcher = [at |-> "call", rpc |-> 1]
    /\ awaited = {}
    /\ got = [rpc \in Calls |-> {}]
    /\ outcome = [rpc \in Calls |-> "open"]
    /\ requests = <<>>
    /\ results \in {order \in [1 .. Cardinality(Old) -> [epoch : {Past}, rpc : Old]] :
                        {order[i].rpc : i \in DOMAIN order} = Old}
    /\ overdue = {}
    /\ discarded = 0

-------------------------------------------------------------------------------

(* What the dispatcher does behind a call. *)
After(rpc) == IF rpc + 1 \in Calls THEN [at |-> "call", rpc |-> rpc + 1] ELSE Done

(* What an answer says. *)
Value(answer) == IF answer.epoch = Present THEN answer.rpc ELSE 0

(* Who gets an answer: the call that it names, if it is awaited, or nobody. *)
Taker(answer) == IF answer.epoch = Present THEN {answer.rpc} \cap awaited ELSE {}

(* Answers for nobody are counted. *)
WithOneMore(count) == count + 1

(* Whoever has said anything owes nothing. *)
WithoutDebt(debt) == {}

(* What the table awaits, once a call is given up. *)
WithoutCall(calls, rpc) == calls \ {rpc}

(* The dispatcher registers a call, before it sends it. *)
DispatcherCall(rpc) ==
    /\ dispatcher = [at |-> "call", rpc |-> rpc]
    /\ dispatcher' = [at |-> "send", rpc |-> rpc]
    /\ awaited' = awaited \cup {rpc}
    /\ UNCHANGED <<outcome, lanes, got, overdue, discarded>>

(* The dispatcher sends the call: one sender at a time. *)
DispatcherSend(rpc) ==
    /\ dispatcher = [at |-> "send", rpc |-> rpc]
    /\ dispatcher' = [at |-> "wait", rpc |-> rpc]
    /\ requests' = Append(requests, rpc)
    /\ UNCHANGED <<outcome, results, table>>

(* The worker answers the oldest call. *)
WorkerReply(rpc) ==
    /\ requests # <<>>
    /\ Head(requests) = rpc
    /\ requests' = Tail(requests)
    /\ results' = Append(results, [epoch |-> Present, rpc |-> rpc])
    /\ UNCHANGED <<dispatcher, outcome, table>>

(* The pump gives an answer to the call that it belongs to, or discards it: one critical section. *)
PumpReply(rpc) ==
    /\ results # <<>>
    /\ Head(results).rpc = rpc
    /\ results' = Tail(results)
    /\ LET taker == Taker(Head(results))
       IN /\ got' = [call \in Calls |-> got[call] \cup IF call \in taker THEN {Value(Head(results))} ELSE {}]
          /\ awaited' = awaited \ taker
          /\ discarded' = IF taker = {} THEN WithOneMore(discarded) ELSE discarded
    /\ overdue' = WithoutDebt(overdue)
    /\ UNCHANGED <<dispatcher, outcome, requests>>

(* The dispatcher stops waiting, because it is decided or because the time is up, and looks which. *)
DispatcherWake(rpc) ==
    /\ dispatcher = [at |-> "wait", rpc |-> rpc]
    /\ dispatcher' = IF got[rpc] # {} THEN After(rpc) ELSE [at |-> "abandon", rpc |-> rpc]
    /\ outcome' = IF got[rpc] # {} THEN [outcome EXCEPT ![rpc] = "answered"] ELSE outcome
    /\ UNCHANGED <<lanes, table>>

(* The dispatcher has the call forgotten, and the worker owes an answer: one critical section. *)
DispatcherAbandon(rpc) ==
    /\ dispatcher = [at |-> "abandon", rpc |-> rpc]
    /\ dispatcher' = After(rpc)
    /\ outcome' = [outcome EXCEPT ![rpc] = "timed out"]
    /\ awaited' = WithoutCall(awaited, rpc)
    /\ overdue' = IF rpc \in awaited THEN {rpc} ELSE overdue
    /\ UNCHANGED <<lanes, got, discarded>>

-------------------------------------------------------------------------------

System ==
    \E rpc \in Calls :
        \/ DispatcherCall(rpc) \/ DispatcherSend(rpc) \/ DispatcherWake(rpc) \/ DispatcherAbandon(rpc)
        \/ WorkerReply(rpc) \/ PumpReply(rpc)

(* All calls were made, and all answers have come.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ dispatcher = Done
    /\ lanes = <<<<>>, <<>>>>
    /\ UNCHANGED vars

Next == System \/ Terminating

Spec == Init /\ [][Next]_vars

(* Whoever can go on does so sooner or later. *)
FairSpec ==
    /\ Spec
    /\ \A rpc \in Calls :
        /\ WF_vars(DispatcherCall(rpc))
        /\ WF_vars(DispatcherSend(rpc))
        /\ WF_vars(DispatcherWake(rpc))
        /\ WF_vars(DispatcherAbandon(rpc))
        /\ WF_vars(WorkerReply(rpc))
        /\ WF_vars(PumpReply(rpc))

-------------------------------------------------------------------------------

(* No call gets another one's answer, be it that of an earlier call or of an earlier engine. *)
OwnAnswerInv == \A rpc \in Calls : got[rpc] \subseteq {rpc}

(* The table awaits no call but the one under way. *)
OnlyOpenAwaitedInv == awaited \subseteq {dispatcher.rpc}

(* Each answer is on its way, was given to a call, or was counted as discarded. *)
EveryAnswerCountedInv ==
    Len(requests) + Len(results) + discarded + Cardinality({rpc \in Calls : got[rpc] # {}})
    = Cardinality(Old)
    + Cardinality({rpc \in Calls : rpc < dispatcher.rpc \/ dispatcher = Done})
    + (IF dispatcher.at \in {"wait", "abandon"} THEN 1 ELSE 0)

(* A worker is said to owe an answer only while one of its answers has yet to come. *)
OnlyDebtorsOverdueInv == overdue # {} => Len(requests) + Len(results) > 0

(* Whoever was said to owe an answer is no longer said to in the end. *)
EveryDebtForgottenProp == overdue # {} ~> overdue = {}

(* Each call ends. *)
EveryCallEndsProp == \A rpc \in Calls : <>(outcome[rpc] # "open")
===============================================================================
