--------------------------- MODULE MCShutdownSalvage ---------------------------
(* Refinement, the historical behaviours that Bug cfgs swap in, mutants, and   *)
(* probes.                                                                     *)
EXTENDS ShutdownSalvage

Seen == [number \in Numbers |->
            IF client[number] = "refused" THEN "refused"
            ELSE CASE outcome[number] = "none" -> "absent"
                   [] outcome[number] = "shut_down" -> "shut down"
                   [] OTHER -> outcome[number]]
Abs == INSTANCE ExactlyOnce WITH outcome <- Seen
RefinesProp == Abs!FairSpec

(* Defect wait_after_shutdown: whoever asks is registered, though the table may have been closed. *)
ConsumerWait_Bug(number) ==
    LET wanted == {output[number]}
    IN /\ client[number] = "asking"
       /\ output[number] # None
       /\ client' = [client EXCEPT ![number] = IF wanted \subseteq cached THEN "having" ELSE "awaiting"]
       /\ awaited' = awaited \cup (wanted \ cached)
       /\ opened' = opened \ (wanted \cap cached)
       /\ cached' = cached \ wanted
       /\ UNCHANGED <<shutdown, scheduler, dispatcher, owner, computed, lane, pump, arrived>>

(* Defect shutdown_discards_delivered: everything that is open ends, whether its output has come or not. *)
EngineClose_Bug(by) ==
    /\ \/ by = "shutdown" /\ shutdown = "running" /\ shutdown' = "closed" /\ dispatcher' = Awake
       \/ by = "dispatcher" /\ dispatcher = "leaving" /\ dispatcher' = "left" /\ UNCHANGED shutdown
    /\ End(Numbers)
    /\ UNCHANGED <<output, owner, computed, lane, pump, arrived>>

(* Mutants. *)
(* Requests are admitted by a scheduler that is closed. *)
EngineAdmit_Always(number) ==
    /\ client[number] = "calling"
    /\ \A other \in Numbers : other < number => client[other] # "calling"
    /\ waiting' = waiting \cup {number}
    /\ outcome' = [outcome EXCEPT ![number] = "open"]
    /\ client' = [client EXCEPT ![number] = "asking"]
    /\ dispatcher' = Awake
    /\ UNCHANGED <<shutdown, output, owner, computed, lane, pump, table, arrived>>

(* What is awaited fails, and what nobody has asked for yet stays open. *)
ExecutorClose_Leaves(by) ==
    /\ shutdown = "stopped"
    /\ \/ by = "pump" /\ pump = "pumping" /\ lane = <<>> /\ pump' = "gone" /\ UNCHANGED shutdown
       \/ by = "shutdown" /\ pump = "gone" /\ shutdown' = "over" /\ UNCHANGED pump
    /\ client' = [number \in Numbers |-> IF client[number] = "awaiting" THEN "failing" ELSE client[number]]
    /\ awaited' = {}
    /\ UNCHANGED <<scheduler, dispatcher, owner, computed, lane, opened, cached, arrived>>

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No output lies in the table for its client when the shutdown has returned. *)
NeverSalvagedInv == shutdown = "over" => cached = {}
(* No client asks for an output that was lost. *)
NeverAskedForLostInv ==
    \A number \in Numbers : ~(client[number] = "asking" /\ output[number] # None /\ output[number] \notin opened)
===============================================================================
