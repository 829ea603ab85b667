--------------------------- MODULE MCAbandonedStream ---------------------------
(* Refinement, the historical behaviours that Bug cfgs swap in, and probes.    *)
EXTENDS AbandonedStream

Seen == [number \in Numbers |-> IF outcome[number] = "none" THEN "absent" ELSE outcome[number]]
Abs == INSTANCE ExactlyOnce WITH outcome <- Seen
RefinesProp == Abs!FairSpec

(* Defect abandoned_stream: that a stream was deleted is no news. *)
StreamDesert_Bug(number) ==
    /\ client[number] = "holding"
    /\ number \in Deserting
    /\ client' = [client EXCEPT ![number] = "gone"]
    /\ UNCHANGED <<scheduler, others, dispatcher, owner, arriving, table>>

(* Defect stream_left_open: whoever closes the stream over the streams leaves these open. *)
Begun_Bug(number) == IF number \in Asking THEN "asking" ELSE IF number \in Closing THEN "closed" ELSE "holding"

(* Defect aborted_output_leak: what is here is dropped, and what still comes is wanted as before. *)
Drop_Bug(outputs) ==
    /\ opened' = opened
    /\ cached' = cached \ outputs
    /\ awaited' = awaited \ outputs

(* Probes: each must fail, for the state that it denies is an interesting one. *)
(* No stream is deleted when its output lies in the table already. *)
NeverDeletedBesideOutputInv == \A number \in deserted : output[number] \notin cached
(* No output arrives behind the end of its request. *)
NeverLateInv == arriving \subseteq opened
===============================================================================
