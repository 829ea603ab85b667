------------------------------ MODULE LaneStores ------------------------------
(* The lane on machines whose stores reach memory late: between what a side    *)
(* does and what the other one sees lies its buffer, and HardwareFlush.        *)
EXTENDS Lane

ASSUME StoresAreLate == "SC" \notin Orders
===============================================================================
