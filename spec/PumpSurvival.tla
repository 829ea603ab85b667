----------------------------- MODULE PumpSurvival -----------------------------
(* The pump is the one reader of what the worker says: if it dies of one       *)
(* message, nobody is served any more.  It must survive messages that cannot   *)
(* be read, and consumers that leave at any moment; and if the lane breaks,    *)
(* so that it must end, nobody may wait any longer, and health must tell.      *)
(*                                                                             *)
(*   worker --announce--> inbox --unpack--> pump --deliver--> future or cache  *)
(*   fault --break lane-----^                |    consumer: wait, cancel, drop *)
(*                                           +-- close: everybody is told      *)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Outputs,        \* ids of the outputs
    Order,          \* in which the worker announces them
    Unreadable,     \* those whose message cannot be read
    Leaving         \* those whose consumer gives up, unless it has its output by then

ASSUME OrderIsOfOutputs == {Order[i] : i \in DOMAIN Order} = Outputs /\ Len(Order) = Cardinality(Outputs)

VARIABLES
    unsent,         \* outputs that the worker has not announced, in order
    inbox,          \* what was announced and not yet taken by the pump, in order
    broken,         \* whether the lane is broken: behind what is in the inbox then, nothing is readable
    pump,           \* where the pump is, and the output in its hands
    open,           \* outputs that may still be delivered
    registered,     \* outputs with a future in the table
    cached,         \* outputs that lie in the table and wait for their consumer
    waiter,         \* output -> what its consumer is doing, or how it ended
    stayed,         \* outputs whose consumers wanted to leave, and had theirs by then
    closed,         \* whether the table refuses everybody
    healthy,        \* what health tells
    unread          \* how many messages could not be read

lane == <<unsent, inbox, broken>>
table == <<open, registered, cached>>
consumers == <<waiter, stayed>>
end == <<closed, healthy>>
vars == <<lane, pump, table, consumers, end, unread>>

None == "none"
Idle == [at |-> "idle", output |-> None]
Dying == [at |-> "dying", output |-> None]
Dead == [at |-> "dead", output |-> None]
Break == "broken"

TypeOK ==
    (* A tail of the order. *)
    /\ unsent \in Seq(Outputs)
    (* The lane, with the place at which it is broken. *)
    /\ inbox \in Seq(Outputs \cup {Break})
    (* For ever. *)
    /\ broken \in BOOLEAN
    (* "unpacked": read, or found unreadable; "holding": with its future, which only a defect takes so early. *)
    /\ pump \in [at : {"unpacked", "holding"}, output : Outputs] \cup {Idle, Dying, Dead}
    (* An output is settled once. *)
    /\ open \subseteq Outputs
    (* At most one future an output. *)
    /\ registered \subseteq Outputs
    (* At most one copy an output. *)
    /\ cached \subseteq Outputs
    (* "failed": told why; "refused": at once; "leaving": its future is cancelled, and the table does not know. *)
    /\ waiter \in [Outputs -> {"absent", "waiting", "served", "failed", "refused", "leaving", "gone"}]
    (* Of those who may leave. *)
    /\ stayed \subseteq Leaving
    (* For ever. *)
    /\ closed \in BOOLEAN
    (* Bad for ever. *)
    /\ healthy \in BOOLEAN
    (* Each costs itself alone. *)
    /\ unread \in 0 .. Cardinality(Unreadable)

Init ==
    /\ unsent = Order
    /\ inbox = <<>>
    /\ broken = FALSE
    /\ pump = Idle
    /\ open = Outputs
    /\ registered = {}
    /\ cached = {}
    /\ waiter = [output \in Outputs |-> "absent"]
    /\ stayed = {}
    /\ closed = FALSE
    /\ healthy = TRUE
    /\ unread = 0

-------------------------------------------------------------------------------

(* How who asks for an output, or waits for it, is answered with it. *)
Answer(output) == IF output \in Unreadable THEN "failed" ELSE "served"

(* What is cached of an output that comes for nobody: what somebody may still ask for. *)
Kept(output) == {output} \cap open

(* The output thread announces the next output. *)
WorkerAnnounce(output) ==
    /\ unsent # <<>>
    /\ Head(unsent) = output
    /\ unsent' = Tail(unsent)
    /\ inbox' = Append(inbox, output)
    /\ UNCHANGED <<broken, pump, table, consumers, end, unread>>

(* Somebody writes nonsense into the lane. *)
FaultBreakLane ==
    /\ ~broken
    /\ broken' = TRUE
    /\ inbox' = Append(inbox, Break)
    /\ UNCHANGED <<unsent, pump, table, consumers, end, unread>>

(* The pump takes a message and reads it; if that cannot be done, an error takes the output's place. *)
PumpUnpack(output) ==
    /\ pump = Idle
    /\ inbox # <<>>
    /\ Head(inbox) = output
    /\ inbox' = Tail(inbox)
    /\ pump' = [at |-> "unpacked", output |-> output]
    /\ unread' = unread + (IF output \in Unreadable THEN 1 ELSE 0)
    /\ UNCHANGED <<unsent, broken, table, consumers, end>>

(* A future is resolved, unless its consumer has cancelled it; else the output is cached, if anybody may want it. *)
ResolveOrCache(output) ==
    IF output \in registered
    THEN /\ registered' = registered \ {output}
         /\ open' = open \ {output}
         /\ waiter' = [waiter EXCEPT ![output] = IF @ = "waiting" THEN Answer(output) ELSE @]
         /\ UNCHANGED cached
    ELSE cached' = cached \cup Kept(output) /\ UNCHANGED <<registered, open, waiter>>

(* The pump hands the output over, whether its consumer waits, has left, or has not come: one critical section. *)
PumpDeliver(output) ==
    /\ pump = [at |-> "unpacked", output |-> output]
    /\ pump' = Idle
    /\ ResolveOrCache(output)
    /\ UNCHANGED <<lane, stayed, end, unread>>

(* Who is told when the pump ends: everybody who waits. *)
ToldAtEnd == {output \in registered : waiter[output] = "waiting"}

(* What health tells when the pump has ended. *)
HealthAtEnd == FALSE

(* The pump ends: it fails whoever waits, and refuses whoever comes; what is cached can still be taken. *)
ExecutorClose ==
    /\ pump = Dying \/ (pump = Idle /\ inbox # <<>> /\ Head(inbox) = Break)
    /\ pump' = Dead
    /\ inbox' = IF pump = Idle THEN Tail(inbox) ELSE inbox
    /\ closed' = TRUE
    /\ healthy' = HealthAtEnd
    /\ registered' = {}
    /\ open' = open \cap cached
    /\ waiter' = [output \in Outputs |-> IF output \in ToldAtEnd THEN "failed" ELSE waiter[output]]
    /\ UNCHANGED <<unsent, broken, cached, stayed, unread>>

(* The consumer takes what is cached, is refused, or registers a future: one critical section. *)
ConsumerWait(output) ==
    /\ waiter[output] = "absent"
    /\ waiter' = [waiter EXCEPT ![output] =
                    IF output \in cached THEN Answer(output) ELSE IF closed THEN "refused" ELSE "waiting"]
    /\ registered' = IF output \in cached \/ closed THEN registered ELSE registered \cup {output}
    /\ open' = IF output \in cached \/ closed THEN open \ {output} ELSE open
    /\ cached' = cached \ {output}
    /\ UNCHANGED <<lane, pump, stayed, end, unread>>

(* A consumer gives up: it cancels its future, which may be settled by then. *)
ConsumerCancel(output) ==
    /\ output \notin stayed
    /\ waiter[output] \in {"waiting", "served", "failed"}
    /\ IF waiter[output] = "waiting"
       THEN waiter' = [waiter EXCEPT ![output] = "leaving"] /\ UNCHANGED stayed
       ELSE stayed' = stayed \cup {output} /\ UNCHANGED waiter
    /\ UNCHANGED <<lane, pump, table, end, unread>>

(* It tells the table: what comes of its output goes nowhere. *)
ConsumerDrop(output) ==
    /\ waiter[output] = "leaving"
    /\ waiter' = [waiter EXCEPT ![output] = "gone"]
    /\ registered' = registered \ {output}
    /\ cached' = cached \ {output}
    /\ open' = open \ {output}
    /\ UNCHANGED <<lane, pump, stayed, end, unread>>

-------------------------------------------------------------------------------

System ==
    \/ ExecutorClose
    \/ \E output \in Outputs : WorkerAnnounce(output) \/ PumpUnpack(output) \/ PumpDeliver(output)
Env ==
    \/ \E output \in Outputs : ConsumerWait(output)
    \/ \E output \in Leaving : ConsumerCancel(output) \/ ConsumerDrop(output)
Fault == FaultBreakLane

(* The lane is broken, as each is in the end, and all consumers have ended.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ unsent = <<>>
    /\ pump = Dead
    /\ \A output \in Outputs : waiter[output] \in {"served", "failed", "refused", "gone"}
    /\ \A output \in Leaving : waiter[output] \in {"served", "failed"} => output \in stayed
    /\ UNCHANGED vars

Next == System \/ Env \/ Fault \/ Terminating

Spec == Init /\ [][Next]_vars

(* The system's own steps happen sooner or later; no lane has to break, nobody has to wait, or to leave. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(ExecutorClose)
    /\ \A output \in Outputs :
        /\ WF_vars(WorkerAnnounce(output))
        /\ WF_vars(PumpUnpack(output))
        /\ WF_vars(PumpDeliver(output))

-------------------------------------------------------------------------------

(* The pump ends of nothing but a broken lane. *)
EndsOfTheLaneAloneInv == pump.at \in {"dying", "dead"} => broken

(* Once the pump has ended, nobody waits. *)
NobodyWaitsForTheDeadInv == pump = Dead => \A output \in Outputs : waiter[output] # "waiting"

(* Health is bad once the pump has ended, and only then. *)
HealthTellsInv == healthy = (pump # Dead)

(* As long as the pump lives, an output fails only if it cannot be read. *)
OneMessageCostsItselfInv == \A output \in Outputs : waiter[output] = "failed" => output \in Unreadable \/ closed

(* Nothing is cached for a consumer that waits, or has gone. *)
NothingStrandedInv == \A output \in cached : waiter[output] = "absent"

(* Whoever waits is answered in the end, or leaves. *)
EveryWaitEndsProp == \A output \in Outputs : waiter[output] = "waiting" ~> waiter[output] # "waiting"

(* Whoever waits for what can be read, and does not leave, is served in the end, unless the lane breaks. *)
EveryoneElseServedProp ==
    \A output \in Outputs \ (Unreadable \cup Leaving) :
        waiter[output] = "waiting" ~> waiter[output] = "served" \/ broken
===============================================================================
