"""The name under which stubs of ``adk-code-mode`` hosts look for the guest's client."""
