# Makes the transformation a step of a build.  In a makefile (GNU make 4):
#
#   ASPHALT_SOURCES = src/main.f90 src/transpose.f90
#   ASPHALT_BUILD   = build/asphalt
#   include $(shell asphalt mk)
#
# ASPHALT_SOURCES  files or trees; trees are mirrored whole.
# ASPHALT_BUILD    where they are mirrored to: src/main.f90 becomes build/asphalt/src/main.f90.
# ASPHALT_ROOT     paths below ASPHALT_BUILD are relative to it (default: the working directory).
# ASPHALT_OBJDIR   where the object files go (default: ASPHALT_BUILD).
# ASPHALT_FLAGS    further options of "asphalt apply", such as -DUSE_MPI -Iinclude --tile 8.
# ASPHALT          the command (default: asphalt).
#
# It sets ASPHALT_OBJECTS, the object of every Fortran source and of the runtime, to be linked:
#
#   program: $(ASPHALT_OBJECTS)
#   	mpif90 -o $@ $^
#   $(ASPHALT_BUILD)/%.o: $(ASPHALT_BUILD)/%.f90
#   	mpif90 -O2 -J $(ASPHALT_BUILD) -c -o $@ $<
#
# and it knows which object needs which module, and which needs the header asphalt_params.inc: edit
# K or D there, and make compiles what uses them.  Sources are transformed again when one of
# them, the makefile or the options have changed; outputs that come out the same keep their time.

asphalt_makefiles := $(MAKEFILE_LIST)
asphalt_goal := $(.DEFAULT_GOAL)

ASPHALT ?= asphalt
ASPHALT_BUILD ?= build/asphalt
ASPHALT_OBJDIR ?= $(ASPHALT_BUILD)
ASPHALT_ROOT ?= .

asphalt_list := $(ASPHALT_BUILD)/.asphalt/files.mk
asphalt_inputs := $(shell find $(ASPHALT_SOURCES) -name '.[!.]*' -prune -o -print)

# "make clean" needs no transformation; every other goal starts with it.
ifneq ($(filter-out clean%,$(or $(MAKECMDGOALS),all)),)
include $(asphalt_list)
endif

asphalt_command = $(ASPHALT) apply $(ASPHALT_SOURCES) --output $(ASPHALT_BUILD) \
  --root $(ASPHALT_ROOT) --makefile $(asphalt_list) $(ASPHALT_FLAGS)

$(asphalt_list): $(asphalt_inputs) $(asphalt_makefiles)
	$(asphalt_command)
	@echo 'asphalt_made_by := $(subst ','\'',$(asphalt_command))' >>$@

# An output that somebody removed is made again, and everything if the command is another one.
asphalt_missing := $(filter-out $(wildcard $(ASPHALT_FILES)),$(ASPHALT_FILES))
ifeq ($(MAKE_RESTARTS),)
ifneq ($(asphalt_missing)$(subst $(asphalt_made_by),,$(asphalt_command)),)
$(asphalt_list): asphalt-again
endif
endif
.PHONY: asphalt-again

# The first target of the including makefile stays its default.
.DEFAULT_GOAL := $(asphalt_goal)
