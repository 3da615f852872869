"""What tests of programs that use Taeda need."""
