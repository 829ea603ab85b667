--------------------------- MODULE DrainBeforeSleep ---------------------------
(* The main loop of a worker computes outputs in device memory, and gives that *)
(* memory back when it is to sleep.  Its output thread copies the outputs out  *)
(* of that memory, later.  What was computed and not yet announced is counted, *)
(* and who wants to give memory back waits until nothing is.                   *)
(*                                                                             *)
(*   commands --> main loop --hand over--> queue --copy, announce--> consumer  *)
(*                   |  +1                                     | settle: -1    *)
(*                   +---- drain: in flight = {} ? free : refuse <---+         *)
(*                                                                             *)
(* How long a drain waits is nothing that the code decides by: the main loop   *)
(* stops waiting when it will, and then looks.                                 *)
EXTENDS Naturals, Sequences

CONSTANTS
    Outputs,        \* ids of the outputs
    Program         \* what the main loop is told: an output to compute, "sleep", or "wake"

ASSUME ProgramComputesEachOnce ==
    /\ \A i \in DOMAIN Program : Program[i] \in Outputs \cup {"sleep", "wake"}
    /\ \A output \in Outputs : \E i \in DOMAIN Program : \A j \in DOMAIN Program : Program[j] = output <=> i = j

VARIABLES
    next,           \* where in the program the main loop is
    drained,        \* whether it has found nothing in flight, and will give memory back
    asleep,         \* whether the memory was given back and not taken again
    given_back,     \* how often it was given back
    in_flight,      \* outputs that are counted
    queue,          \* outputs on their way to the output thread, each with how often memory had been given back
    hand,           \* what the output thread does next, and with which output
    announced       \* output -> what was announced of it

main == <<next, drained, asleep, given_back>>
vars == <<main, in_flight, queue, hand, announced>>

None == "none"
Idle == [at |-> "idle", output |-> None, whole |-> FALSE]

TypeOK ==
    (* A wake of who is awake is no step. *)
    /\ next \in 1 .. Len(Program) + 1
    (* A program counter: between the look and the deed. *)
    /\ drained \in BOOLEAN
    (* Of the pipeline. *)
    /\ asleep \in BOOLEAN
    (* At most once a sleep. *)
    /\ given_back \in 0 .. Len(Program)
    (* Each is counted once. *)
    /\ in_flight \subseteq Outputs
    (* In the order of their computation. *)
    /\ queue \in Seq([output : Outputs, since : 0 .. Len(Program)])
    (* "announce": it is copied; "settle": it is announced. *)
    /\ hand \in [at : {"announce", "settle"}, output : Outputs, whole : BOOLEAN] \cup {Idle}
    (* "spoiled": with bytes of memory that was given back. *)
    /\ announced \in [Outputs -> {"no", "whole", "spoiled"}]

(* The command at a place, behind those that are no step. *)
Skipping(i, sleeps) == IF i <= Len(Program) /\ Program[i] = "wake" /\ ~sleeps THEN i + 1 ELSE i

Init ==
    /\ next = Skipping(1, FALSE)
    /\ drained = FALSE
    /\ asleep = FALSE
    /\ given_back = 0
    /\ in_flight = {}
    /\ queue = <<>>
    /\ hand = Idle
    /\ announced = [output \in Outputs |-> "no"]

-------------------------------------------------------------------------------

Told(command) == next <= Len(Program) /\ Program[next] = command

(* A drain has succeeded if nothing is in flight. *)
NothingReads(outputs) == outputs = {}

(* What stays counted when an output is copied: the copy is not yet announced. *)
AfterCopy(outputs, output) == outputs

(* The main loop computes an output, counts it, and hands it to the output thread. *)
WorkerHandOver(output) ==
    /\ Told(output)
    /\ in_flight' = in_flight \cup {output}
    /\ queue' = Append(queue, [output |-> output, since |-> given_back])
    /\ next' = Skipping(next + 1, asleep)
    /\ UNCHANGED <<drained, asleep, given_back, hand, announced>>

(* The main loop stops waiting, and goes on if nothing is in flight; else what it was told to do is refused. *)
WorkerDrain ==
    /\ Told("sleep") \/ Told("wake")
    /\ ~drained
    /\ LET done == NothingReads(in_flight)
       IN /\ drained' = (done /\ Told("sleep"))
          /\ asleep' = (asleep /\ ~(done /\ Told("wake")))
          /\ next' = IF drained' THEN next ELSE Skipping(next + 1, asleep')
    /\ UNCHANGED <<given_back, in_flight, queue, hand, announced>>

(* The pipeline gives its memory back. *)
PipelineFree ==
    /\ drained
    /\ drained' = FALSE
    /\ asleep' = TRUE
    /\ given_back' = given_back + 1
    /\ next' = Skipping(next + 1, TRUE)
    /\ UNCHANGED <<in_flight, queue, hand, announced>>

(* The device copies the oldest output out of its memory, if that is still there. *)
DeviceCopy ==
    /\ hand = Idle
    /\ queue # <<>>
    /\ hand' = [at |-> "announce", output |-> Head(queue).output, whole |-> Head(queue).since = given_back]
    /\ queue' = Tail(queue)
    /\ in_flight' = AfterCopy(in_flight, Head(queue).output)
    /\ UNCHANGED <<main, announced>>

(* The output thread announces what was copied. *)
WorkerAnnounce(output) ==
    /\ hand.at = "announce" /\ hand.output = output
    /\ announced' = [announced EXCEPT ![output] = IF hand.whole THEN "whole" ELSE "spoiled"]
    /\ hand' = [hand EXCEPT !.at = "settle"]
    /\ UNCHANGED <<main, in_flight, queue>>

(* The output thread counts it off: one critical section with the drain's look. *)
WorkerSettle(output) ==
    /\ hand.at = "settle" /\ hand.output = output
    /\ in_flight' = in_flight \ {output}
    /\ hand' = Idle
    /\ UNCHANGED <<main, queue, announced>>

-------------------------------------------------------------------------------

System ==
    \/ WorkerDrain \/ PipelineFree \/ DeviceCopy
    \/ \E output \in Outputs : WorkerHandOver(output) \/ WorkerAnnounce(output) \/ WorkerSettle(output)

(* All was done as told, or refused, and all outputs are announced.  Any other state without a next step is a deadlock. *)
Terminating ==
    /\ next > Len(Program)
    /\ in_flight = {}
    /\ hand = Idle
    /\ UNCHANGED vars

Next == System \/ Terminating

Spec == Init /\ [][Next]_vars

(* Whoever can go on does so sooner or later. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(WorkerDrain)
    /\ WF_vars(PipelineFree)
    /\ WF_vars(DeviceCopy)
    /\ \A output \in Outputs :
        /\ WF_vars(WorkerHandOver(output))
        /\ WF_vars(WorkerAnnounce(output))
        /\ WF_vars(WorkerSettle(output))

-------------------------------------------------------------------------------

(* No output carries bytes of memory that was given back since it was computed. *)
NoFreedBytesInv == \A output \in Outputs : announced[output] # "spoiled"

(* Memory is given back only while nothing is in flight. *)
FreedOnlyWhenDrainedInv == drained => in_flight = {}

(* What was computed and is not settled is counted, and nothing else is. *)
CountedInv == in_flight = {queue[i].output : i \in DOMAIN queue} \cup ({hand.output} \ {None})

(* Each output that is computed arrives whole. *)
EveryOutputArrivesProp == \A output \in Outputs : <>(announced[output] = "whole")
===============================================================================
