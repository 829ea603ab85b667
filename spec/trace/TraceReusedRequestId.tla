------------------------- MODULE TraceReusedRequestId -------------------------
(* Recordings of real processes as behaviours of ReusedRequestId: whoever ends *)
(* ends its own request, and no other one of the same id.                      *)
EXTENDS MCReusedRequestId, TraceRequestPath
===============================================================================
