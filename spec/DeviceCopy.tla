------------------------------ MODULE DeviceCopy ------------------------------
(* A device works through streams of commands, each in its own order, and as   *)
(* late as it likes.  A worker computes on one of them and copies to the host  *)
(* on another one; nothing but events keeps the copy behind the computation,   *)
(* and the host behind the copy.                                               *)
(*                                                                             *)
(*   main loop --issues--> default stream: compute, reach event -.             *)
(*       | hand over                                             v             *)
(*   output thread --issues--> side stream: wait for event, copy, reach        *)
(*       '-- waits until that is done, announces, lets go of the memory        *)
(*                                                                             *)
(* To issue a command is no step: nobody sees it before its stream comes to it.*)
(* A thread issues what it has to as soon as it can go on.                     *)
EXTENDS Naturals, Sequences

CONSTANTS
    Outputs,        \* ids of the outputs
    Order           \* the same, in the order in which they are computed

ASSUME OrderNamesEachOnce ==
    /\ \A i \in DOMAIN Order : Order[i] \in Outputs
    /\ \A output \in Outputs : \E i \in DOMAIN Order : \A j \in DOMAIN Order : Order[j] = output <=> i = j

VARIABLES
    next,           \* where in the order the main loop is: that output is issued, and not handed over
    queue,          \* outputs on their way to the output thread
    hand,           \* the output that the output thread brings to the host
    issued,         \* stream -> its commands that are still to be done
    reached,        \* outputs whose event the default stream has reached
    device,         \* output -> what its place in device memory holds
    host,           \* output -> what its place in host memory holds
    announced       \* output -> what was announced of it

vars == <<next, queue, hand, issued, reached, device, host, announced>>

None == "none"

Command(does, output) == [does |-> does, output |-> output]

TypeOK ==
    (* Each is issued once. *)
    /\ next \in 1 .. Len(Order) + 1
    (* In the order of their computation. *)
    /\ queue \in Seq(Outputs)
    (* One at a time. *)
    /\ hand \in Outputs \cup {None}
    (* "give": memory back. *)
    /\ issued.default \in Seq([does : {"compute", "reach", "give"}, output : Outputs])
    /\ issued.side \in Seq([does : {"wait", "copy", "reach"}, output : Outputs])
    (* What was reached stays so. *)
    /\ reached \subseteq Outputs
    (* "poison": nothing yet, or nothing any more. *)
    /\ device \in [Outputs -> {"poison", "whole"}]
    (* "poison": nothing yet, or what was copied was poison. *)
    /\ host \in [Outputs -> {"poison", "whole"}]
    (* "spoiled": what was read was poison. *)
    /\ announced \in [Outputs -> {"no", "whole", "spoiled"}]

-------------------------------------------------------------------------------

(* What the main loop issues for an output: the event marks that it is computed. *)
Work(output) == <<Command("compute", output), Command("reach", output)>>
WorkAt(i) == IF i \in DOMAIN Order THEN Work(Order[i]) ELSE <<>>

(* What the output thread issues for it: the copy waits for the event. *)
Bring(output) == <<Command("wait", output), Command("copy", output), Command("reach", output)>>

(* What the output thread waits for before it reads host memory: the end of all that it issued. *)
CopiesAreDone == issued.side = <<>>

(* When the output thread lets go of an output's device memory, so that it is given back. *)
LetsGoAt == "announcement"
GiveBack(output, at) == IF at = LetsGoAt THEN <<Command("give", output)>> ELSE <<>>

(* Behind the last announcement the worker ends, and its device with it. *)
AllAnnounced == \A output \in Outputs : announced[output] # "no"

Init ==
    /\ next = 1
    /\ queue = <<>>
    /\ hand = None
    /\ issued = [default |-> WorkAt(1), side |-> <<>>]
    /\ reached = {}
    /\ device = [output \in Outputs |-> "poison"]
    /\ host = [output \in Outputs |-> "poison"]
    /\ announced = [output \in Outputs |-> "no"]

-------------------------------------------------------------------------------

(* The output thread takes an output, and issues its copy. *)
Takes(output, commands) ==
    /\ hand' = output
    /\ issued' = [default |-> commands \o GiveBack(output, "copy"), side |-> issued.side \o Bring(output)]

(* The main loop hands over what it issued, and issues the next one. *)
WorkerHandOver(output) ==
    /\ next \in DOMAIN Order /\ Order[next] = output
    /\ next' = next + 1
    /\ LET commands == issued.default \o WorkAt(next + 1)
       IN IF hand = None
          THEN /\ Takes(output, commands)
               /\ UNCHANGED queue
          ELSE /\ queue' = Append(queue, output)
               /\ issued' = [issued EXCEPT !.default = commands]
               /\ UNCHANGED hand
    /\ UNCHANGED <<reached, device, host, announced>>

(* The default stream does its next command. *)
DefaultStep ==
    /\ issued.default # <<>>
    /\ ~AllAnnounced
    /\ LET command == Head(issued.default)
       IN /\ device' = CASE command.does = "compute" -> [device EXCEPT ![command.output] = "whole"]
                         [] command.does = "give" -> [device EXCEPT ![command.output] = "poison"]
                         [] OTHER -> device
          /\ reached' = IF command.does = "reach" THEN reached \cup {command.output} ELSE reached
    /\ issued' = [issued EXCEPT !.default = Tail(@)]
    /\ UNCHANGED <<next, queue, hand, host, announced>>

(* The side stream does its next command, unless that is to wait for what has not been. *)
SideStep ==
    /\ issued.side # <<>>
    /\ ~AllAnnounced
    /\ LET command == Head(issued.side)
       IN /\ command.does = "wait" => command.output \in reached
          /\ host' = IF command.does = "copy" THEN [host EXCEPT ![command.output] = device[command.output]] ELSE host
    /\ issued' = [issued EXCEPT !.side = Tail(@)]
    /\ UNCHANGED <<next, queue, hand, reached, device, announced>>

(* The output thread reads host memory, announces the output, lets go of it, and takes the next one. *)
WorkerAnnounce(output) ==
    /\ hand = output
    /\ CopiesAreDone
    /\ announced' = [announced EXCEPT ![output] = IF host[output] = "whole" THEN "whole" ELSE "spoiled"]
    /\ LET commands == issued.default \o GiveBack(output, "announcement")
       IN IF queue # <<>>
          THEN /\ Takes(Head(queue), commands)
               /\ queue' = Tail(queue)
          ELSE /\ hand' = None
               /\ issued' = [issued EXCEPT !.default = commands]
               /\ UNCHANGED queue
    /\ UNCHANGED <<next, reached, device, host>>

-------------------------------------------------------------------------------

System ==
    \/ DefaultStep \/ SideStep
    \/ \E output \in Outputs : WorkerHandOver(output) \/ WorkerAnnounce(output)

(* All outputs are announced.  Any other state without a next step is a deadlock. *)
Terminating == AllAnnounced /\ UNCHANGED vars

Next == System \/ Terminating

Spec == Init /\ [][Next]_vars

(* Whoever can go on does so sooner or later, streams included. *)
FairSpec ==
    /\ Spec
    /\ WF_vars(DefaultStep)
    /\ WF_vars(SideStep)
    /\ \A output \in Outputs : WF_vars(WorkerHandOver(output)) /\ WF_vars(WorkerAnnounce(output))

-------------------------------------------------------------------------------

Pending(stream, does, output) == \E i \in DOMAIN issued[stream] : issued[stream][i] = Command(does, output)

(* The output thread has taken this output, and its copy is done. *)
IsCopied(output) ==
    /\ \E i \in 1 .. next - 1 : Order[i] = output
    /\ \A i \in DOMAIN queue : queue[i] # output
    /\ ~Pending("side", "copy", output)

(* No output is announced with bytes that were not computed for it. *)
NoPoisonAnnouncedInv == \A output \in Outputs : announced[output] # "spoiled"

(* What was copied was computed before. *)
CopiedBehindComputationInv == \A output \in Outputs : IsCopied(output) => host[output] = "whole"

(* The host reads an output only when its copy has ended. *)
ReadBehindCopyInv == \A output \in Outputs : announced[output] # "no" => IsCopied(output)

(* Device memory is let go of only when the copy out of it has ended. *)
HeldUntilCopiedInv == \A output \in Outputs : Pending("default", "give", output) => IsCopied(output)

(* Each output arrives whole. *)
EveryOutputArrivesProp == \A output \in Outputs : <>(announced[output] = "whole")
===============================================================================
