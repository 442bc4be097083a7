//! The words and the pure rules of Helve.
