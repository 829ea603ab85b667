"""Historical arrangements that the product no longer has, behind its interface; defects are built of them."""
